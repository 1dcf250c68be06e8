package io.rdmaraw.testsuite.contract;

import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

/** The differences that are faults of this transport and not yet fixed. The fix deletes the line. */
enum KnownFaults {
    ;

    /** Whether other differences of the same program may be consequences. */
    final boolean spoils;
    final String behaviour;
    private final Predicate<Difference> shows;

    KnownFaults(boolean spoils, String behaviour, Predicate<Difference> shows) {
        this.spoils = spoils;
        this.behaviour = behaviour;
        this.shows = shows;
    }

    boolean explains(Difference difference) {
        return shows.test(difference);
    }

    /** Returns whether one of a program's differences is a fault that may have caused all others. */
    static boolean spoils(List<Difference> differences) {
        return differences.stream().anyMatch(each -> of(each).stream().anyMatch(fault -> fault.spoils));
    }

    /** Returns the faults that explain a difference. */
    static List<KnownFaults> of(Difference difference) {
        return Arrays.stream(values()).filter(each -> each.explains(difference)).toList();
    }
}
