"""Systems without a trained model, to compare with."""
