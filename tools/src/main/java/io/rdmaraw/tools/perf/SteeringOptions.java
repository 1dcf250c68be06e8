package io.rdmaraw.tools.perf;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.flow.FlowType;
import java.util.ArrayList;
import java.util.List;
import picocli.CommandLine.Option;

/** The options for additional flow rules. */
final class SteeringOptions {
    @Option(names = "--promiscuous", description = "also receive frames that neither a rule nor the kernel takes")
    private boolean promiscuous;

    @Option(names = "--sniffer", description = "also receive a copy of everything that the port receives and sends")
    private boolean sniffer;

    /** Returns whether a frame may be received more than once. */
    boolean copies() {
        return sniffer;
    }

    List<FlowSpec> rules() {
        List<FlowSpec> rules = new ArrayList<>();
        if (promiscuous) {
            rules.add(FlowSpec.builder().type(FlowType.ALL_DEFAULT).build());
        }
        if (sniffer) {
            rules.add(FlowSpec.builder().type(FlowType.SNIFFER).build());
        }
        return rules;
    }
}
