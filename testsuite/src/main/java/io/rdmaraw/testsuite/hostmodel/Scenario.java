package io.rdmaraw.testsuite.hostmodel;

import java.util.List;
import java.util.stream.Collectors;

/**
 * The changes and packets that a pair of hosts receives after its reset.
 *
 * @param seed   seed that generated the scenario
 * @param flavor kinds of the links
 * @param steps  steps in their order
 */
record Scenario(long seed, Flavor flavor, List<Step> steps) {
    @Override
    public String toString() {
        return "device " + flavor.provider + " on " + flavor.name().toLowerCase(java.util.Locale.ROOT) + "\n"
                + steps.stream().map(Step::toString).collect(Collectors.joining("\n"));
    }
}
