package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.RefusingFrameQueue;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import io.rdmaraw.wire.EthernetHeader;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each rule costs a device command or two, which block the loop. */
@Tag("softverbs")
class RulesOfRecoveryTest {
    private static final int RULES = 5;
    private static final FrameReceiver RECEIVER = new NullReceiver();

    private final SharedDevice device = SharedDevice.acquire("soft:loop:rules-of-recovery");
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final RefusingFrameQueue queue = new RefusingFrameQueue(device, channel,
            new FrameQueueOptions(64, 64, 2, 512, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER));
    private final FlowTagTable tags;
    private final QueueRecovery recovery;
    private int recovered;

    RulesOfRecoveryTest() {
        tags = new FlowTagTable(queue, device);
        recovery = new QueueRecovery("", queue, tags, new QueueFlightRecorder(device.name(), 1), Runnable::run,
                new QueueRecovery.Owner() {
                    @Override
                    public void drainCompletions() {
                    }

                    @Override
                    public void onRecovered(long lostFrames) {
                        recovered++;
                    }

                    @Override
                    public void onDeviceFailure(VerbsException cause) {
                        throw cause;
                    }

                    @Override
                    public boolean isRemoved() {
                        return false;
                    }
                });
    }

    @AfterEach
    void close() {
        tags.close();
        queue.close();
        channel.close();
        device.release();
    }

    private void makeRules(int rules) {
        for (int i = 0; i < rules; i++) {
            tags.attach(RECEIVER, FlowSpec.builder().destinationMac(0x02_00_00_00_00_00L + i, EthernetHeader.BROADCAST)
                    .allowHostTraffic().build());
        }
        assertEquals(rules, queue.rulesMade);
    }

    /** New queues that fail during their start need no rules. */
    @Test
    void rulesAreInstalledOnceNewQueuesWork() {
        makeRules(RULES);
        queue.recoveriesLeft = 3;
        recovery.recover();
        assertEquals(0, queue.recoveriesLeft);
        assertEquals(1, recovered);
        assertEquals(2 * RULES, queue.rulesMade);
    }

    /**
     * The queue is then replaced, and replacements that fail are replaced again. Only the one that works gets
     * the rules.
     */
    @Test
    void rulesAreInstalledOnceAfterARefusedReset() {
        makeRules(RULES);
        queue.resetLosesFrames = true;
        queue.resetRefused = true;
        recovery.recover();
        assertEquals(0, queue.recoveriesLeft);
        assertEquals(1, recovered);
        assertEquals(2 * RULES, queue.rulesMade);
    }

    /** The rules stay installed, and the queue stops receiving before the reset. */
    @Test
    void manyRulesStayInstalledDuringAReset() {
        makeRules(65);
        queue.resetLosesFrames = true;
        recovery.recover();
        assertEquals(1, recovered);
        assertEquals(65, queue.rulesMade);
        assertTrue(queue.receivingStopped);
    }
}
