package io.rdmaraw.tools.perf;

import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.FlowType;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** Rules beside those of the frames. */
final class SteeringOptions {
    @Option(names = "--promiscuous", description = "receive also what neither a rule nor the kernel wants")
    private boolean promiscuous;

    @Option(names = "--sniffer", description = "receive also a copy of all that the port receives and sends")
    private boolean sniffer;

    /** Whether frames may come more than once. */
    boolean copies() {
        return sniffer;
    }

    List<FlowSpec> rules(int portNumber) {
        List<FlowSpec> rules = new ArrayList<>();
        if (promiscuous) {
            rules.add(PerfFrames.special(FlowType.ALL_DEFAULT, portNumber));
        }
        if (sniffer) {
            rules.add(PerfFrames.special(FlowType.SNIFFER, portNumber));
        }
        return rules;
    }
}
