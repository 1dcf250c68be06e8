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
import io.rdmaraw.queue.VerbsFrameQueue;
import io.rdmaraw.verbs.CompletionChannel;
import io.rdmaraw.verbs.DirectAccess;
import io.rdmaraw.verbs.StridingReceive;
import io.rdmaraw.verbs.flow.FlowSpec;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Servers open and close their rules by a thread of their own, also while a loop's queue is being replaced. */
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
    private final VerbsFrameQueue queue = open();
    private final VerbsFrameQueue other = open();
    private final FlowTagTable tags = new FlowTagTable(queue, device);
    private final FlowTagTable otherTags = new FlowTagTable(other, device);
    private final Nobody channelOfQueue = new Nobody();
    private final Nobody channelOfOther = new Nobody();
    private final Object server = new Object();

    private VerbsFrameQueue open() {
        VerbsFrameQueue opened = VerbsFrameQueue.open(device, 1, channel,
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

    /** Runs what other threads do meanwhile. */
    private void replaceQueue(Runnable meanwhile) {
        assertTrue(queue.noteFailure(queue.receiveCompletions(), queue.resets()));
        tags.rebuild(() -> {
            meanwhile.run();
            queue.recover(() -> { });
        });
    }

    private Set<FrameQueue> chosen() {
        Set<FrameQueue> chosen = new HashSet<>();
        for (int hash = 0; hash < HASHES; hash++) {
            chosen.add(flows.chosen(RULE, hash));
        }
        return chosen;
    }

    @Test
    void aRuleThatIsOpenedMeanwhileLeadsToTheOthers() {
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

    /** The loop goes on between two attempts. */
    @Test
    void aLoopThatHearsOfTheRuleMeanwhileJoinsWhenItIsBack() {
        replaceQueue(() -> {
            flows.open(RULE, List.of(queue, other), server);
            tags.attachRss(channelOfQueue, RULE, null);
            assertEquals(Set.of(other), chosen());
        });
        assertEquals(Set.of(queue, other), chosen());
    }

    @Test
    void aRuleOfNoOtherLoopIsTheServersAllTheSame() {
        replaceQueue(() -> {
            flows.open(RULE, List.of(queue), server);
            assertNull(flows.chosen(RULE, 0));
            assertSame(server, flows.ownerOf(RULE));
        });
        tags.attachRss(channelOfQueue, RULE, null);
        assertEquals(Set.of(queue), chosen());
        assertSame(server, flows.ownerOf(RULE));
        flows.withdraw(RULE, server);
        assertNull(flows.ownerOf(RULE));
    }

    @Test
    void aRuleThatIsOpenBeforeStaysTheServers() {
        flows.open(RULE, List.of(queue), server);
        replaceQueue(() -> assertSame(server, flows.ownerOf(RULE)));
        tags.attachRss(channelOfQueue, RULE, null);
        assertEquals(Set.of(queue), chosen());
        assertSame(server, flows.ownerOf(RULE));
    }

    @Test
    void aRuleThatIsWithdrawnMeanwhileDoesNotComeBack() {
        flows.open(RULE, List.of(queue), server);
        tags.attachRss(channelOfQueue, RULE, null);
        replaceQueue(() -> flows.withdraw(RULE, server));
        assertNull(flows.chosen(RULE, 0));
        Object next = new Object();
        flows.open(RULE, List.of(queue), next);
        assertEquals(Set.of(queue), chosen());
        assertSame(next, flows.ownerOf(RULE));
    }

    /** Attempts may fail for long, while channels come and go. */
    @Test
    void aRuleThatNobodyWantsAnyMoreIsForgotten() {
        assertTrue(queue.noteFailure(queue.receiveCompletions(), queue.resets()));
        assertThrows(IllegalStateException.class, () -> tags.rebuild(() -> {
            throw new IllegalStateException("the device has no memory for a queue");
        }));
        tags.attachRss(channelOfQueue, RULE, null);
        tags.detach(channelOfQueue);
        tags.rebuild(() -> queue.recover(() -> { }));
        assertNull(flows.chosen(RULE, 0));
        flows.open(RULE, List.of(queue), server);
        assertEquals(Set.of(queue), chosen());
    }

    private int tagOfAnotherServer() {
        flows.open(RULE, List.of(queue, other), server);
        tags.attachRss(channelOfQueue, RULE, null);
        int tag = flows.join(RULE, queue, server).tag();
        flows.withdraw(RULE, server);
        tags.detach(channelOfQueue);
        return tag;
    }

    /** A server that closes at once does so before its loops have joined; they never leave then. */
    @Test
    void aLoopThatNeverHeardOfTheRuleDoesNotKeepItsTag() {
        assertEquals(tagOfAnotherServer(), tagOfAnotherServer());
    }

    /** The server's thread and the loop's go through the same rules at the same time. */
    @Test
    void rulesThatAreWithdrawnWhileTheLoopJoinsAgainDoNotComeBack() {
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
