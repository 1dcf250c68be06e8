package io.rdmaraw.testsuite.contract;

import io.rdmaraw.testsuite.contract.Step.Numbered;

import java.util.ArrayList;
import java.util.List;

/** Deletes steps and settings of a program as long as a difference of the same kind remains. */
final class Shrinker {
    private final Comparison comparison;
    private Difference smallest;

    private Shrinker(Comparison comparison, Difference difference) {
        this.comparison = comparison;
        this.smallest = difference;
    }

    /** Returns the difference of a program from which nothing more can be deleted. */
    static Difference shrink(Comparison comparison, Difference difference) {
        Shrinker shrinker = new Shrinker(comparison, difference);
        boolean shrunk = true;
        while (shrunk) {
            shrunk = shrinker.deleteOne();
        }
        return shrinker.smallest;
    }

    private boolean deleteOne() {
        Program program = smallest.program();
        for (Choice choice : Choice.values()) {
            if (program.is(choice) && stillDiffers(program.without(choice))) {
                return true;
            }
        }
        for (List<Numbered> fewer : variants(program.steps())) {
            if (stillDiffers(program.withSteps(fewer))) {
                return true;
            }
        }
        return false;
    }

    /** Returns the lists with one step less, and the lists in which the inner steps replace their container. */
    private static List<List<Numbered>> variants(List<Numbered> steps) {
        List<List<Numbered>> variants = new ArrayList<>();
        for (int i = 0; i < steps.size(); i++) {
            Numbered step = steps.get(i);
            variants.add(replaced(steps, i, List.of()));
            if (step.step().inner().isEmpty()) {
                continue;
            }
            variants.add(replaced(steps, i, step.step().inner()));
            for (List<Numbered> inner : variants(step.step().inner())) {
                variants.add(replaced(steps, i, List.of(new Numbered(step.id(), step.step().withInner(inner)))));
            }
        }
        return variants;
    }

    private static List<Numbered> replaced(List<Numbered> steps, int index, List<Numbered> by) {
        List<Numbered> all = new ArrayList<>(steps.subList(0, index));
        all.addAll(by);
        all.addAll(steps.subList(index + 1, steps.size()));
        return all;
    }

    private boolean stillDiffers(Program candidate) {
        for (Difference each : comparison.compare(candidate, this::isOther)) {
            if (each.kind().equals(smallest.kind())) {
                smallest = each;
                return true;
            }
        }
        return false;
    }

    private boolean isOther(Difference candidate) {
        return !candidate.kind().equals(smallest.kind()) || AcceptedDifferences.accept(candidate)
                || !KnownFaults.of(candidate).isEmpty();
    }
}
