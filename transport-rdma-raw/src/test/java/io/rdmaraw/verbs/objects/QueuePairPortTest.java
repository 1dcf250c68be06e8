package io.rdmaraw.verbs.objects;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Rules belong to the port of their queue pair. Another port exists on the emulated card in switchdev mode. */
class QueuePairPortTest {
    private static final FlowSpec RULE = FlowSpec.parse("dst-mac 02:00:00:00:0a:01 ether-type 0x88b5");

    private final VerbsContext context =
            VerbsDevices.open(System.getProperty("io.rdmaraw.test.device", "soft:loop:ports"));
    private final ProtectionDomain domain = context.allocateProtectionDomain();
    private final CompletionQueue completions = context.createCompletionQueue(64, null, 0);
    private final int ownPort = context.ownPort();

    @AfterEach
    void close() {
        context.close();
    }

    private QueuePair queuePair() {
        return domain.createQueuePair(QueuePairOptions.builder().completionQueue(completions).build());
    }

    private RwqIndirectionTable table() {
        return context.createIndirectionTable(context.createWorkQueue(domain, completions, 16, 1, 0));
    }

    private QueuePair rss(int port) {
        return domain.createQueuePair(QueuePairOptions.builder()
                .rss(new RssOptions(table(), 0, new byte[RssOptions.KEY_LENGTH_BYTES], port)).build());
    }

    @Test
    void portIsThatOfInit() {
        QueuePair queuePair = queuePair();
        assertEquals(ownPort, queuePair.port());
        assertThrows(VerbsException.class, () -> queuePair.toInit(200));
        assertEquals(ownPort, queuePair.port());
        queuePair.toInit(ownPort);
        queuePair.toReadyToReceive();
        assertEquals(ownPort, queuePair.port());
    }

    @Test
    void ruleIsForPortOfQueuePair() {
        int other = ownPort - 1;
        assumeTrue(other > 0, "the device has no other port");
        QueuePair representor = queuePair();
        representor.toInit(other);
        assertEquals(other, representor.port());
        FlowSpec tagged = RULE.toBuilder().tag(1).build();
        representor.createFlow(tagged);
        rss(other).createFlow(tagged.toBuilder().tag(2).priority(1).build());
        // The same rules on the port of the wire, with other tags, are no duplicates.
        QueuePair own = queuePair();
        own.toInit(ownPort);
        own.createFlow(tagged.toBuilder().tag(3).build());
        FlowSpec second = tagged.toBuilder().tag(4).priority(1).build();
        rss(ownPort).createFlow(second);
        // Conflicts are found on the port that a rule names.
        assertEquals(Errno.EEXIST, assertThrows(VerbsException.class,
                () -> representor.createFlow(second.toBuilder().tag(5).devicePort(ownPort).build())).errno());
    }
}
