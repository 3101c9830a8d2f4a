"""From samples to statements: who reserved what, used what, waited how long, and where to begin."""
