"""The operator: it recognises apps, holds their pods at the gate, and lets them go in the order the core decides."""
