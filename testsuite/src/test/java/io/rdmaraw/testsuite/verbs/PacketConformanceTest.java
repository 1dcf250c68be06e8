package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.testsuite.net.NetworkExtension;
import io.rdmaraw.testsuite.net.TestNetwork;
import io.rdmaraw.verbs.QueuePair;
import io.rdmaraw.verbs.Softverbs;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.extension.ExtendWith;

/** The conformance suite on AF_PACKET, over a veth pair. */
@ExtendWith(NetworkExtension.class)
class PacketConformanceTest {
    private static ProviderConformance.Devices wire;

    @BeforeAll
    static void connect(TestNetwork network) {
        wire = new WireConformance("packet", network);
    }

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
            droppedBefore = Softverbs.of(receiver.context).received().noReceive();
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
