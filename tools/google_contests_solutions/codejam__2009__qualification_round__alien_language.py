"""A pattern is a regular expression once its brackets are square."""

import re

_, words, cases = map(int, input().split())
known = [input().strip() for _ in range(words)]
for case in range(1, cases + 1):
    pattern = re.compile(input().strip().replace("(", "[").replace(")", "]"))
    print(f"Case #{case}: {sum(pattern.fullmatch(word) is not None for word in known)}")
