"""Executor: where other people's code runs. Task and program in, `Judgement` out."""
