package io.rdmaraw.device;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.rdmaraw.queue.FrameQueue;
import io.rdmaraw.queue.FrameQueueOptions;
import io.rdmaraw.queue.RssFlows;
import io.rdmaraw.queue.SharedDevice;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import io.rdmaraw.verbs.objects.CompletionChannel;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Servers add and remove their rules on other threads, even while a loop's queue is being replaced. */
@Tag("softverbs")
class RulesOfAbsentQueueTest {
    private static final FlowSpec RULE = FlowSpec.builder().destinationMac("02:00:00:00:00:0a").ipv4().tcp()
            .destinationPort(80).build();
    private static final int HASHES = 256;
    private static final int RULES = 32;
    private static final int ROUNDS = 100;

    private final SharedDevice device = SharedDevice.acquire("soft:loop:rules-of-absent-queue");
    private final RssFlows flows = device.rssFlows();
    private final CompletionChannel channel = device.context().createCompletionChannel();
    private final FrameQueue queue = open();
    private final FrameQueue other = open();
    private final FlowTagTable tags = new FlowTagTable(queue, device);
    private final FlowTagTable otherTags = new FlowTagTable(other, device);
    private final NullReceiver channelOfQueue = new NullReceiver();
    private final NullReceiver channelOfOther = new NullReceiver();
    private final Object server = new Object();

    private FrameQueue open() {
        FrameQueue opened = FrameQueue.open(device, 1, channel,
                new FrameQueueOptions(64, 64, 2, 512, 2048, DirectAccess.NEVER, false, StridingReceive.NEVER));
        opened.workQueue();
        return opened;
    }

    @AfterEach
    void close() {
        tags.close();
        otherTags.close();
        queue.close();
        other.close();
        channel.close();
        device.release();
    }

    /** Replaces the queue and runs an action in the meantime, as another thread would. */
    private void replaceQueue(Runnable meanwhile) {
        assertTrue(queue.recordFailure(queue.receiveCompletionQueue(), queue.resetCounts()));
        tags.rebuild(() -> {
            meanwhile.run();
            queue.recover(() -> { });
        });
    }

    private Set<FrameQueue> chosen() {
        Set<FrameQueue> chosen = new HashSet<>();
        for (int hash = 0; hash < HASHES; hash++) {
            chosen.add(flows.selectedQueue(RULE, hash));
        }
        return chosen;
    }

    @Test
    void ruleOpenedDuringReplacementLeadsToOtherLoops() {
        replaceQueue(() -> {
            flows.open(RULE, List.of(queue, other), server);
            assertEquals(Set.of(other), chosen());
        });
        assertEquals(Set.of(other), chosen(), "until its loop has heard of the rule");
        tags.attachRss(channelOfQueue, RULE, null);
        otherTags.attachRss(channelOfOther, RULE, null);
        assertEquals(Set.of(queue, other), chosen());
        assertSame(server, flows.ownerOf(RULE));
    }

    /** The loop continues between two attempts to replace its queue. */
    @Test
    void loopJoinsRuleAfterReplacement() {
        replaceQueue(() -> {
            flows.open(RULE, List.of(queue, other), server);
            tags.attachRss(channelOfQueue, RULE, null);
            assertEquals(Set.of(other), chosen());
        });
        assertEquals(Set.of(queue, other), chosen());
    }

    @Test
    void ruleWithoutOtherLoopsKeepsItsOwner() {
        replaceQueue(() -> {
            flows.open(RULE, List.of(queue), server);
            assertNull(flows.selectedQueue(RULE, 0));
            assertSame(server, flows.ownerOf(RULE));
        });
        tags.attachRss(channelOfQueue, RULE, null);
        assertEquals(Set.of(queue), chosen());
        assertSame(server, flows.ownerOf(RULE));
        flows.withdraw(RULE, server);
        assertNull(flows.ownerOf(RULE));
    }

    @Test
    void ruleOpenedBeforeReplacementKeepsItsOwner() {
        flows.open(RULE, List.of(queue), server);
        replaceQueue(() -> assertSame(server, flows.ownerOf(RULE)));
        tags.attachRss(channelOfQueue, RULE, null);
        assertEquals(Set.of(queue), chosen());
        assertSame(server, flows.ownerOf(RULE));
    }

    @Test
    void ruleWithdrawnDuringReplacementIsNotRestored() {
        flows.open(RULE, List.of(queue), server);
        tags.attachRss(channelOfQueue, RULE, null);
        replaceQueue(() -> flows.withdraw(RULE, server));
        assertNull(flows.selectedQueue(RULE, 0));
        Object next = new Object();
        flows.open(RULE, List.of(queue), next);
        assertEquals(Set.of(queue), chosen());
        assertSame(next, flows.ownerOf(RULE));
    }

    /** Attempts may fail for a long time, while channels are opened and closed. */
    @Test
    void unusedRuleIsRemoved() {
        assertTrue(queue.recordFailure(queue.receiveCompletionQueue(), queue.resetCounts()));
        assertThrows(IllegalStateException.class, () -> tags.rebuild(() -> {
            throw new IllegalStateException("the device has no memory for a queue");
        }));
        tags.attachRss(channelOfQueue, RULE, null);
        tags.detach(channelOfQueue);
        tags.rebuild(() -> queue.recover(() -> { }));
        assertNull(flows.selectedQueue(RULE, 0));
        flows.open(RULE, List.of(queue), server);
        assertEquals(Set.of(queue), chosen());
    }

    private int tagOfAnotherServer() {
        flows.open(RULE, List.of(queue, other), server);
        tags.attachRss(channelOfQueue, RULE, null);
        int tag = flows.attach(RULE, queue, server).tag();
        flows.withdraw(RULE, server);
        tags.detach(channelOfQueue);
        return tag;
    }

    /** If a server closes at once, its loops have not joined yet. Then they never leave. */
    @Test
    void loopThatNeverJoinedDoesNotKeepTheTag() {
        assertEquals(tagOfAnotherServer(), tagOfAnotherServer());
    }

    /** The server's thread and the loop iterate over the same rules concurrently. */
    @Test
    void rulesWithdrawnDuringRejoinAreNotRestored() {
        List<FlowSpec> rules = IntStream.rangeClosed(1, RULES).mapToObj(
                port -> RULE.toBuilder().destinationPort(port).build()).toList();
        for (int round = 0; round < ROUNDS; round++) {
            for (FlowSpec rule : rules) {
                flows.open(rule, List.of(queue), server);
                tags.attachRss(channelOfQueue, rule, null);
            }
            CompletableFuture<Void> isAway = new CompletableFuture<>();
            CompletableFuture<Void> closed = isAway.thenRunAsync(
                    () -> rules.forEach(rule -> flows.withdraw(rule, server)));
            tags.rebuild(() -> isAway.complete(null));
            closed.join();
            assertEquals(Set.of(), flows.owners());
            tags.detach(channelOfQueue);
        }
    }
}
