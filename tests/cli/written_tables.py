"""Small tables written into a folder."""


def written(folder, name, columns):
    cells = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / name).write_text("\n".join(cells) + "\n")
