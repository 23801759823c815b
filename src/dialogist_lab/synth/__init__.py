"""A made-up customer-service corpus."""
