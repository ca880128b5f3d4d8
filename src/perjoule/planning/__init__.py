"""Which hardware and file system give a capacity and a throughput with the least energy, money and carbon."""

from perjoule.planning.answer import Answer, Banded, Move, Row, answer
from perjoule.planning.need import Need, Question, parse, read

__all__ = ["Answer", "Banded", "Move", "Need", "Question", "Row", "answer", "parse", "read"]
