package io.rdmaraw.testsuite.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.ffi.Errno;
import io.rdmaraw.testsuite.net.Await;
import io.rdmaraw.verbs.abi.WcStatus;
import io.rdmaraw.verbs.objects.MemoryRegion;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.objects.RssOptions;
import io.rdmaraw.verbs.objects.SendWr;
import io.rdmaraw.verbs.objects.WorkQueue;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The conformance suite on the stock libibverbs and libmlx5 above an emulated ConnectX. It runs in its own JVM with the
 * emulator preloaded, once for each uverbs ABI. The tag selects it; see the POM of this module.
 */
@Tag("emulated")
class EmulatedConformanceTest {
    private static final int INLINE_HEADER_BYTES = 18;

    private static final ProviderConformance.Devices EMULATED = new ProviderConformance.Devices() {
        @Override
        public String sender() {
            return Emulator.DEVICE;
        }

        @Override
        public String receiver() {
            return sender();
        }
    };

    private static void awaitCount(Emulator.Counter counter, long count) {
        Await.until(counter + " " + count, () -> Emulator.count(counter) >= count);
    }

    // Deviations of libmlx5 from the requirements of the suite.

    /**
     * libmlx5 copies the beginning of each frame into the request and does not count it towards the limit of inline
     * data.
     */
    static void checkMoreInlineDataIsRefused(Port port) {
        QueuePair sending = Port.ready(port.queuePair(o -> o.maxInlineDataBytes(64)));
        int length = sending.options().maxInlineDataBytes() + INLINE_HEADER_BYTES + 1;
        long[] sge = {port.slot(), length, port.memory.lkey()};
        assertEquals(Errno.ENOMEM, port.postSend(sending, 1, SendWr.FLAG_INLINE, sge));
    }

    /**
     * libmlx5 itself reads the beginning of the frame, so the address must be mapped even where it is outside the
     * region.
     */
    static void checkSendsOutsideARegion(SendReceiveConformance test) {
        long slot = test.sender.slot();
        MemoryRegion region = test.sender.domain.registerMemory(slot + 1024, 4096, 0);
        test.expectSendError(WcStatus.LOC_PROT_ERR, new long[] {slot + 1024 + 4096 - 59, 60, region.lkey()});
        test.expectSendError(WcStatus.LOC_PROT_ERR, new long[] {slot + 1023 - 18, 60, region.lkey()});
        test.expectSendError(WcStatus.LOC_PROT_ERR, new long[] {slot, 60, region.lkey()});
    }

    /**
     * Returns whether the rule matches a field after {@code LAST_IPV4_FIELD} or {@code LAST_IPV6_FIELD}. The kernel's
     * mlx5_ib rejects these.
     */
    static boolean isRefusedMatch(String rule) {
        return rule.contains("ttl") || rule.contains("ip-flags");
    }

    /**
     * Two rules with the same match must have the same tag, as {@code check_conflicting_ftes} of the kernel's fs_core.c
     * requires. Each queue then receives every frame.
     */
    static void checkRulesOfOneMatchShareATag(FlowConformance test) {
        String rule = "dst 10.2.0.2 udp dst-port 53";
        test.listener(rule + " tag 1", 1);
        QueuePair second = test.receiver.readyQueuePair();
        ProviderConformance.assertFails(Errno.EEXIST, () -> ProviderConformance.flow(second, rule + " tag 2"));
        ProviderConformance.flow(second, rule + " tag 1");
        test.receiver.receive(second, 1);
        test.sender.send(test.sender.readyQueuePair(), Frames.udp4("10.1.0.1", 5353, "10.2.0.2", 53));
        test.receiver.await(2).forEach(completion -> assertEquals(1, completion.queuePairNumber()));
    }

    /** Posting to an RSS queue pair is not tested: libmlx5 does not check it and crashes the process. */
    static void checkRssQueuePairHasNoStates(RssConformance test) {
        WorkQueue queue = test.receiver.context.createWorkQueue(test.receiver.domain, test.receiver.completionQueue,
                16, 1, 0);
        QueuePair rss = test.rss(test.receiver.context.createIndirectionTable(queue), RssOptions.SOURCE_IPV4);
        ProviderConformance.assertFails(Errno.EOPNOTSUPP, () -> rss.toInit(rss.port()));
    }

    @Nested
    class States extends StateConformance {
        private long ignoredBefore;

        States() {
            super(EMULATED);
        }

        @BeforeEach
        void count() {
            ignoredBefore = Emulator.count(Emulator.Counter.NOT_READY);
        }

        @Override
        void awaitIgnored(QueuePair queuePair) {
            awaitCount(Emulator.Counter.NOT_READY, ignoredBefore + 1);
        }
    }

    @Nested
    class SendReceive extends SendReceiveConformance {
        private long droppedBefore;

        SendReceive() {
            super(EMULATED);
        }

        @BeforeEach
        void count() {
            droppedBefore = Emulator.count(Emulator.Counter.NO_RECEIVE);
        }

        @Override
        void awaitDropped(int frames) {
            awaitCount(Emulator.Counter.NO_RECEIVE, droppedBefore + frames);
        }

        @Override
        @Test
        void moreInlineDataThanAgreedIsRefused() {
            checkMoreInlineDataIsRefused(sender);
        }

        @Override
        @Test
        void aSendOutsideItsRegionIsAProtectionError() {
            checkSendsOutsideARegion(this);
        }
    }

    @Nested
    class Completions extends CompletionConformance {
        Completions() {
            super(EMULATED);
        }
    }

    @Nested
    class Flows extends FlowConformance {
        Flows() {
            super(EMULATED);
        }

        @Override
        boolean refusesMatch(String rule) {
            return isRefusedMatch(rule);
        }

        @Override
        boolean takesTagged() {
            return true;
        }

        @Override
        @Test
        void theSameRuleTwiceExists() {
            checkRulesOfOneMatchShareATag(this);
        }

        @Test
        void specialRulesLoseTheirTag() {
            listener("all-default tag 2", 1);
            sender.send(sender.readyQueuePair(), Frames.raw("02:00:00:00:00:02", "02:00:00:00:00:01",
                    Frames.ETHER_TYPE, 60));
            assertEquals(0, receiver.await().queuePairNumber());
        }
    }

    @Nested
    class Rss extends RssConformance {
        Rss() {
            super(EMULATED);
        }

        @Override
        @Test
        void anRssQueuePairHasNoStatesAndNoReceiveQueue() {
            checkRssQueuePairHasNoStates(this);
        }
    }

    @Nested
    class Lifecycle extends LifecycleConformance {
        Lifecycle() {
            super(EMULATED);
        }
    }
}
