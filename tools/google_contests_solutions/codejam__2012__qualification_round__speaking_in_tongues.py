"""A fixed substitution, read off the examples; q and z are what is left."""

coded = (
    "ejp mysljylc kd kxveddknmc re jsicpdrysi"
    "rbcpc ypc rtcsra dkh wyfrepkym veddknkmkrkcd"
    "de kr kd eoya kw aej tysr re ujdr lkgc jv"
)
plain = (
    "our language is impossible to understand"
    "there are twenty six factorial possibilities"
    "so it is okay if you want to just give up"
)
table = str.maketrans(coded + "qz", plain + "zq")
for case in range(1, int(input()) + 1):
    print(f"Case #{case}: {input().translate(table)}")
