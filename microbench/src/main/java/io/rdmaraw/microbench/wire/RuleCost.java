package io.rdmaraw.microbench.wire;

import io.rdmaraw.verbs.CompletionQueue;
import io.rdmaraw.verbs.ProtectionDomain;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.QueuePairOptions;
import io.rdmaraw.verbs.VerbsContext;
import io.rdmaraw.verbs.VerbsDevices;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.Arrays;

/** Measures what it costs to add and to remove a flow rule of a queue pair. */
final class RuleCost {
    private static final int PORTS = 1000;

    private RuleCost() {
    }

    /** Returns the median nanoseconds of adding and removing a rule. */
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
