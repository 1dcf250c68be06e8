package io.rdmaraw.tools.pcap;

import java.io.IOException;

/** The file is not a usable pcap file. The message is one sentence that names the file and the fault. */
public final class PcapException extends IOException {
    private static final long serialVersionUID = 1L;

    PcapException(String message) {
        super(message);
    }
}
