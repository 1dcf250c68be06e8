package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.verbs.objects.QueuePair;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The conformance suite between two devices connected by a wire, using verbs only. {@code ./rdma-raw hardware-check}
 * runs it on cards. Every build runs it on two emulated devices.
 */
@Tag("device-pair")
class DevicePairConformanceTest {
    private static final byte[] MARKER =
            Frames.raw("02:00:00:00:00:0f", "02:00:00:00:00:01", Frames.ETHER_TYPE + 2, 60);

    private static final ProviderConformance.Devices PAIR = new ProviderConformance.Devices() {
        @Override
        public String sender() {
            return System.getenv("RDMA_RAW_TEST_SENDER");
        }

        @Override
        public String receiver() {
            return System.getenv("RDMA_RAW_TEST_RECEIVER");
        }

        @Override
        public boolean filtersAddresses() {
            return true;
        }
    };

    /**
     * Sends a marker frame and waits for it. Frames keep their order, so all earlier frames have been delivered or
     * dropped.
     */
    private static void awaitMarker(ProviderConformance test) {
        QueuePair marked = test.listener("ether-type 0x88b7", 1);
        test.sender.send(test.sender.readyQueuePair(), MARKER);
        test.receiver.awaitFrames(1);
        marked.close();
    }

    @Nested
    class States extends StateConformance {
        States() {
            super(PAIR);
        }

        @Override
        void awaitIgnored(QueuePair queuePair) {
            awaitMarker(this);
        }
    }

    @Nested
    class SendReceive extends SendReceiveConformance {
        SendReceive() {
            super(PAIR);
        }

        @Override
        void awaitDropped(int frames) {
            awaitMarker(this);
        }

        /** mlx5 accepts frames that are four bytes longer: its driver sets the port to the MTU plus 22 bytes. */
        @Override
        boolean failsLongerFrames() {
            return false;
        }

        /** The device pair uses libmlx5; see {@link EmulatedConformanceTest}. */
        @Override
        @Test
        void moreInlineDataThanAgreedIsRefused() {
            EmulatedConformanceTest.checkMoreInlineDataIsRefused(sender);
        }

        @Override
        @Test
        void aSendOutsideItsRegionIsAProtectionError() {
            EmulatedConformanceTest.checkSendsOutsideARegion(this);
        }
    }

    @Nested
    class Completions extends CompletionConformance {
        Completions() {
            super(PAIR);
        }
    }

    @Nested
    class Flows extends FlowConformance {
        Flows() {
            super(PAIR);
        }

        @Override
        boolean refusesMatch(String rule) {
            return EmulatedConformanceTest.isRefusedMatch(rule);
        }

        @Override
        boolean takesTagged() {
            return true;
        }

        @Override
        @Test
        void theSameRuleTwiceExists() {
            EmulatedConformanceTest.checkRulesOfOneMatchShareATag(this);
        }
    }

    @Nested
    class Rss extends RssConformance {
        Rss() {
            super(PAIR);
        }

        @Override
        @Test
        void anRssQueuePairHasNoStatesAndNoReceiveQueue() {
            EmulatedConformanceTest.checkRssQueuePairHasNoStates(this);
        }
    }

    @Nested
    class Lifecycle extends LifecycleConformance {
        Lifecycle() {
            super(PAIR);
        }
    }
}
