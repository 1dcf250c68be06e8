package io.rdmaraw.testsuite.hostmodel;

import java.util.List;
import java.util.stream.Collectors;

/** A step of a scenario. */
sealed interface Step {
    /**
     * Changes both hosts.
     *
     * @param command a line for {@code ip -batch}; {@code ra LINK ROUTER LIFETIME PREFERENCE} for a router
     *                advertisement without prefixes; or {@code rp_filter VALUE} to set the sysctl
     */
    record Change(String command) implements Step {
        @Override
        public String toString() {
            return command.matches("(ra|rp_filter) .*") ? command : "ip " + command;
        }
    }

    /** Packets that both hosts receive in the state of this step. */
    record Probes(List<Probe> probes) implements Step {
        @Override
        public String toString() {
            return probes.stream().map(Probe::toString).collect(Collectors.joining("\n"));
        }
    }
}
