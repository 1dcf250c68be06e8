package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.testsuite.net.WithTestNetwork;
import io.rdmaraw.verbs.objects.QueuePair;
import io.rdmaraw.verbs.softverbs.Softverbs;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;

/** The conformance suite over a veth pair. The subclass selects the kind of device. */
@WithTestNetwork
abstract class WireConformanceSuite {
    /** Set by the subclass before its tests. Test classes do not run concurrently. */
    static ProviderConformance.Devices wire;

    @Nested
    class States extends StateConformance {
        States() {
            super(wire);
        }

        @Override
        void awaitIgnored(QueuePair queuePair) {
            WireConformance.awaitIgnored(receiver, queuePair);
        }
    }

    @Nested
    class SendReceive extends SendReceiveConformance {
        private long droppedBefore;

        SendReceive() {
            super(wire);
        }

        @BeforeEach
        void count() {
            droppedBefore = Softverbs.of(receiver.context).receivedCounters().noReceive();
        }

        @Override
        void awaitDropped(int frames) {
            WireConformance.awaitDropped(receiver, droppedBefore, frames);
        }
    }

    @Nested
    class Completions extends CompletionConformance {
        Completions() {
            super(wire);
        }
    }

    @Nested
    class Flows extends FlowConformance {
        Flows() {
            super(wire);
        }
    }

    @Nested
    class Rss extends RssConformance {
        Rss() {
            super(wire);
        }
    }

    @Nested
    class Lifecycle extends LifecycleConformance {
        Lifecycle() {
            super(wire);
        }
    }
}
