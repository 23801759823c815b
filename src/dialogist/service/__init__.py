"""The service: summaries over HTTP, stored batches, a page for review."""
