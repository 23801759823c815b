"""The one summarization pipeline: the Summarizer, and model folders."""
