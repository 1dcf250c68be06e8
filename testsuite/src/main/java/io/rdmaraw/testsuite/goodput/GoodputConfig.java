package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.congestion.CongestionControl;

/** The core's configuration for the table, with buffers that never limit a transfer. */
final class GoodputConfig {
    private static final int BUFFER_BYTES = 16 << 20;

    private GoodputConfig() {
    }

    static TcpConfig of(CongestionControl.Factory algorithm) {
        return TcpConfig.builder().congestionControl(algorithm).initialReceiveBufferBytes(BUFFER_BYTES)
                .maxOutOfOrderBytes(BUFFER_BYTES).build();
    }
}
