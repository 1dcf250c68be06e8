package io.rdmaraw.testsuite.verbs;

import io.rdmaraw.testsuite.net.TestNetwork;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

/** The conformance suite on AF_XDP in mode "tap", in which our frames are redirected to a TAP interface. */
class XdpByTapConformanceTest extends WireConformanceSuite {
    @BeforeAll
    static void connect(TestNetwork network) {
        XdpMode.set("tap");
        wire = new WireConformance("xdp", network);
    }

    @AfterAll
    static void back() {
        XdpMode.set("");
    }
}
