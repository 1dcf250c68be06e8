package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.netty.buffer.ByteBuf;
import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.VerbsException;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Each rule is a command or two of a device, during which the loop stands still. */
@Tag("softverbs")
class RulesOfRecoveryTest {
    private static final int RULES = 5;

    private final SharedDevice device = SharedDevice.acquire("soft:loop:rules-of-recovery");
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final VerbsFrameQueue queue = VerbsFrameQueue.open(device, 1, channel,
            new FrameQueueOptions(64, 64, 2, 512, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER));
    private final FlowTagTable tags;
    private final QueueRecovery recovery;
    private int recoveriesLeft;
    private int rulesMade;
    private int recovered;

    RulesOfRecoveryTest() {
        FrameQueue failing = (FrameQueue) Proxy.newProxyInstance(getClass().getClassLoader(),
                new Class<?>[] {FrameQueue.class}, (proxy, method, arguments) -> switch (method.getName()) {
                    case "needsNewQueues" -> recoveriesLeft > 0;
                    case "recover" -> {
                        recoveriesLeft--;
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

    /** New queues that fail while they are started need no rules. */
    @Test
    void rulesAreMadeOnceForQueuesThatWork() {
        FrameReceiver receiver = new FrameReceiver() {
            @Override
            public boolean receive(ByteBuf frame, boolean checksumVerified) {
                frame.release();
                return false;
            }

            @Override
            public void endBurst() {
            }

            @Override
            public void sendQueueHasRoom() {
            }
        };
        for (int i = 0; i < RULES; i++) {
            tags.attach(receiver, FlowSpec.builder().destinationMac("02:00:00:00:00:0" + i).allowHostTraffic().build());
        }
        assertEquals(RULES, rulesMade);
        recoveriesLeft = 3;
        recovery.recover();
        assertEquals(0, recoveriesLeft);
        assertEquals(1, recovered);
        assertEquals(2 * RULES, rulesMade);
    }
}
