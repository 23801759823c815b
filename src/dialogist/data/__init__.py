"""From files to batches: readers, preparation, encoding, shards."""
