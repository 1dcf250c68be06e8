package io.rdmaraw.tools.bench.wire;

import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.FlowSpec;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import java.util.Arrays;

/** What it costs to steer one more flow to a queue pair, and to stop it. */
final class RuleCost {
    private static final int PORTS = 1000;

    private RuleCost() {
    }

    /** Returns the median over so many pairs of adding and removing a rule, in nanoseconds. */
    static long medianNanos(String device, String address, int pairs) {
        try (VerbsContext context = VerbsDevices.open(device);
                ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(16, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(1).maxReceiveWr(1).maxSendSge(1).maxReceiveSge(1).build())) {
            queuePair.toInit(1);
            queuePair.toReadyToReceive();
            long[] nanos = new long[pairs];
            for (int i = 0; i < pairs; i++) {
                FlowSpec rule = FlowSpec.parse("dst " + address + " udp dst-port " + (10_000 + i % PORTS));
                long start = System.nanoTime();
                queuePair.createFlow(rule).close();
                nanos[i] = System.nanoTime() - start;
            }
            Arrays.sort(nanos);
            return nanos[pairs / 2];
        }
    }
}
