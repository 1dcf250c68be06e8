package io.rdmaraw.testsuite.goodput;

import io.rdmaraw.tcp.TcpConfig;
import io.rdmaraw.tcp.congestion.CongestionControl;

/** The core's settings for the table: buffers that are never what limits a transfer. */
final class GoodputConfig {
    private static final int BUFFER_BYTES = 16 << 20;

    private GoodputConfig() {
    }

    static TcpConfig of(CongestionControl.Factory algorithm) {
        return TcpConfig.builder().congestionControl(algorithm).receiveBufferBytes(BUFFER_BYTES)
                .maxOutOfOrderBytes(BUFFER_BYTES).build();
    }
}
