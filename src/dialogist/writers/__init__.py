"""Writers: whatever writes the sentences of a summary; of equal rank behind one protocol."""

from dialogist.writers.base import Writer as Writer
from dialogist.writers.base import open_writer as open_writer
