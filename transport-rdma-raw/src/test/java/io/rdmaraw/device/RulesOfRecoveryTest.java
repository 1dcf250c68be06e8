package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.wire.EthernetHeader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each rule is a command or two of a device, during which the loop stands still. */
@Tag("softverbs")
class RulesOfRecoveryTest {
    private static final int RULES = 5;
    private static final FrameReceiver NOBODY = new Nobody();

    private final SharedDevice device = SharedDevice.acquire("soft:loop:rules-of-recovery");
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final VerbsFrameQueue queue = VerbsFrameQueue.open(device, 1, channel,
            new FrameQueueOptions(64, 64, 2, 512, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER));
    private final FlowTagTable tags;
    private final QueueRecovery recovery;
    private int recoveriesLeft;
    private boolean resetLosesFrames;
    private boolean resetRefused;
    private boolean receivingStopped;
    private int rulesMade;
    private int recovered;

    RulesOfRecoveryTest() {
        FrameQueue failing = (FrameQueue) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[] {FrameQueue.class}, (proxy, method, arguments) -> switch (method.getName()) {
                    case "needsNewQueues" -> recoveriesLeft > 0;
                    case "resetLosesFrames" -> resetLosesFrames;
                    case "stopReceiving" -> {
                        receivingStopped = true;
                        yield null;
                    }
                    case "recover" -> {
                        recoveriesLeft = resetRefused ? 2 : recoveriesLeft - 1;
                        resetRefused = false;
                        yield null;
                    }
                    case "steer" -> {
                        rulesMade++;
                        yield queue.steer((FlowSpec) arguments[0]);
                    }
                    default -> {
                        try {
                            yield method.invoke(queue, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    }
                });
        tags = new FlowTagTable(failing, device);
        recovery = new QueueRecovery("", failing, tags, new DeviceEvents(device.name(), 1), Runnable::run,
                new QueueRecovery.Owner() {
                    @Override
                    public void takeWhatHasCompleted() {
                    }

                    @Override
                    public void recovered(long lostFrames) {
                        recovered++;
                    }

                    @Override
                    public void giveUp(VerbsException cause) {
                        throw cause;
                    }

                    @Override
                    public boolean isGone() {
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
            tags.attach(NOBODY, FlowSpec.builder().destinationMac(0x02_00_00_00_00_00L + i, EthernetHeader.BROADCAST)
                    .allowHostTraffic().build());
        }
        assertEquals(rules, rulesMade);
    }

    /** New queues that fail while they are started need no rules. */
    @Test
    void rulesAreMadeOnceForQueuesThatWork() {
        makeRules(RULES);
        recoveriesLeft = 3;
        recovery.recover();
        assertEquals(0, recoveriesLeft);
        assertEquals(1, recovered);
        assertEquals(2 * RULES, rulesMade);
    }

    /** Then the queue is replaced, and so are the replacements that fail: rules are for what works in the end. */
    @Test
    void rulesAreMadeOnceWhereTheResetIsRefused() {
        makeRules(RULES);
        resetLosesFrames = true;
        resetRefused = true;
        recovery.recover();
        assertEquals(0, recoveriesLeft);
        assertEquals(1, recovered);
        assertEquals(2 * RULES, rulesMade);
    }

    /** They stay, and the queue stops receiving before it is reset. */
    @Test
    void manyRulesAreNotTakenAwayForAReset() {
        makeRules(65);
        resetLosesFrames = true;
        recovery.recover();
        assertEquals(1, recovered);
        assertEquals(65, rulesMade);
        assertTrue(receivingStopped);
    }
}
