package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.testsuite.net.TestNetwork;
import org.junit.jupiter.api.BeforeAll;

/** The conformance suite on AF_PACKET. */
class PacketConformanceTest extends WireConformanceSuite {
    @BeforeAll
    static void connect(TestNetwork network) {
        wire = new WireConformance("packet", network);
    }
}
