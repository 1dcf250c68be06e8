package io.rdmaraw.tools.pcap;

import java.io.IOException;

/** A file that is not a pcap file we can use. The message is one sentence that names the file and the fault. */
public final class PcapException extends IOException {
    private static final long serialVersionUID = 1L;

    PcapException(String message) {
        super(message);
    }
}
