package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.testsuite.net.TestNetwork;
import org.junit.jupiter.api.BeforeAll;

/** The conformance suite on AF_XDP with an MTU that splits a frame into several chunks. */
class XdpJumboConformanceTest extends WireConformanceSuite {
    @BeforeAll
    static void connect(TestNetwork network) {
        wire = new WireConformance("xdp", network, 9000);
    }
}
