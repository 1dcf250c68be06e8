package io.rdmaraw.host.kernel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.rdmaraw.net.Link;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

class LinkChangeLoggerTest {
    private static final int UP = 1 | 1 << 16;

    private final List<String> lines = new ArrayList<>();
    private final Logger logger = Logger.getLogger(LinkChangeLogger.class.getName());
    private final Handler handler = new Handler() {
        @Override
        public void publish(LogRecord line) {
            lines.add(line.getLevel() + " " + line.getMessage());
        }

        @Override
        public void flush() {
            // Nothing is buffered.
        }

        @Override
        public void close() {
            // Nothing to close.
        }
    };

    @BeforeEach
    void listen() {
        logger.addHandler(handler);
    }

    @AfterEach
    void stop() {
        logger.removeHandler(handler);
    }

    private static Link link(String name, int flags) {
        return new Link(2, name, 1, 1500, flags);
    }

    @Test
    void eachLinkChangeIsLoggedOnce() {
        LinkChangeLogger watch = new LinkChangeLogger("soft:xdp:eth0", link("eth0", UP));
        for (Link each : new Link[] {link("eth0", UP), link("eth0", 1), link("eth0", 0), link("eth0", UP),
            link("ext0", UP), null, null}) {
            watch.update(each);
        }
        assertEquals(List.of("WARNING eth0 of soft:xdp:eth0 is down; connections wait until it is up again:"
                + " ip link show eth0", "INFO eth0 of soft:xdp:eth0 is up again",
                "INFO eth0 of soft:xdp:eth0 is called ext0 now", "WARNING ext0 of soft:xdp:eth0 is gone"), lines);
    }
}
