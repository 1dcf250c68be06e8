package io.rdmaraw.microbench.process;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class JsonPeerTest {
    private static final String LOG = """
            Nov 28, 2026 10:15:41 AM io.rdmaraw.queue.SharedDevice logMode
            INFO: soft:xdp:eth0: AF_XDP in mode generic
            {"peers":1}
            """;

    @Test
    void theReasonIsTheExceptionAndNotTheLogBeforeIt() {
        assertEquals("java.lang.IllegalStateException: no peer: look with tcpdump", JsonPeer.reasonIn(LOG + """
                java.lang.IllegalStateException: no peer: look with tcpdump
                \tat io.rdmaraw.microbench.Main.main(Main.java:29)
                """));
        assertEquals("Exception in thread \"main\" java.lang.OutOfMemoryError", JsonPeer.reasonIn(LOG
                + "Exception in thread \"main\" java.lang.OutOfMemoryError\n\tat x.Y.z(Y.java:1)\n"));
    }

    @Test
    void withoutAnExceptionItIsTheLastLineThatIsNoAnswer() {
        assertEquals("rdma-raw: no device", JsonPeer.reasonIn(LOG + "rdma-raw: no device\n{}\n"));
        assertEquals("it said nothing", JsonPeer.reasonIn("{}\n\n"));
    }
}
