"""Training of the tool's verifier (`dialogist.grounding.local_verifier`) on judged statements."""
