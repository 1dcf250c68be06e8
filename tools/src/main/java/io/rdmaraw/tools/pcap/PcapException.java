package io.rdmaraw.tools.pcap;

import java.io.IOException;

/** Thrown if a file is not a usable pcap file. The message is one sentence with the file and the fault. */
public final class PcapException extends IOException {
    private static final long serialVersionUID = 1L;

    PcapException(String message) {
        super(message);
    }
}
