package io.rdmaraw.microbench.wire;

import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionQueue;
import io.rdmaraw.verbs.objects.ProtectionDomain;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.QueuePairOptions;
import io.rdmaraw.verbs.objects.VerbsContext;
import io.rdmaraw.verbs.objects.VerbsDevices;
import java.util.Arrays;

/** Measures the cost of adding a flow rule to a queue pair and removing it again. */
final class RuleCost {
    private static final int PORTS = 1000;

    private RuleCost() {
    }

    /**
     * Returns the median time to add and remove a rule, in nanoseconds.
     *
     * @param address IPv4 address in the rules
     * @param pairs   number of rules to add and remove
     */
    static long medianNanos(String device, String address, int pairs) {
        try (VerbsContext context = VerbsDevices.open(device);
                ProtectionDomain domain = context.allocateProtectionDomain();
                CompletionQueue completions = context.createCompletionQueue(16, null, 0);
                QueuePair queuePair = domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions)
                        .maxSendWr(1).maxReceiveWr(1).maxSendSge(1).maxReceiveSge(1).build())) {
            queuePair.toInit(context.ownPort());
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
