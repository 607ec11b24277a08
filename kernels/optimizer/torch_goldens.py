#!/usr/bin/env python3
"""Writes torch_goldens.json: matrices and what PyTorch makes of them. Needs torch 2.9 or newer.

  python3 kernels/optimizer/torch_goldens.py

Of each matrix: `exact`, the polar factor U V^T over the singular values that are not 0, by torch.linalg.svd in float64;
`iterated`, five quintic Newton-Schulz iterations in float64; `muon`, those of torch.optim.Muon, which computes in
bfloat16.
"""

import json
import os

import torch
from torch.optim import _muon

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
SHAPES = [(1, 7), (7, 1), (1, 1), (5, 5), (4, 11), (11, 4), (13, 13)]


def exact(x):
    u, s, v = torch.linalg.svd(x.double(), full_matrices=False)
    kept = s > s.max() * 1e-12
    return u[:, kept] @ v[kept]


def iterated(x):
    a, b, c = COEFFICIENTS
    is_tall = x.shape[0] > x.shape[1]
    y = x.double().T if is_tall else x.double()
    y = y / max(y.norm().item(), 1e-7)
    for _ in range(5):
        gram = y @ y.T
        y = a * y + (b * gram + c * gram @ gram) @ y
    return y.T if is_tall else y


def rows(matrix):
    return matrix.double().tolist()


def main():
    torch.manual_seed(11)
    matrices = [("random", torch.randn(shape)) for shape in SHAPES]
    integers = torch.randint(-4, 5, (6, 2)).float() @ torch.randint(-4, 5, (2, 9)).float()
    matrices += [("of rank 2", integers), ("zero", torch.zeros(3, 4))]
    cases = [{"about": about, "x": rows(x), "exact": rows(exact(x)), "iterated": rows(iterated(x)),
              "muon": rows(_muon._zeropower_via_newtonschulz(x, COEFFICIENTS, 5, 1e-7))} for about, x in matrices]
    for case in cases:
        difference = torch.tensor(case["muon"]) - torch.tensor(case["iterated"])
        print(case["about"], list(torch.tensor(case["x"]).shape), "bfloat16 from float64:", difference.abs().max().item())
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_goldens.json")
    with open(path, "w") as file:
        json.dump({"torch": torch.__version__, "cases": cases}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
