"""Real frameworks in the lab: their images and operators, made without a registry, and how to submit work to them."""
