package io.rdmaraw.examples.http;

import io.netty.handler.codec.DateFormatter;
import io.netty.util.AsciiString;

import java.util.Date;

/** The value of the Date header (RFC 9110 section 6.6.1), formatted once per second. */
final class HttpDate {
    private static final long MILLIS_PER_SECOND = 1000;

    private static volatile HttpDate current = new HttpDate(0);

    private final long second;
    private final AsciiString text;

    private HttpDate(long second) {
        this.second = second;
        text = new AsciiString(DateFormatter.format(new Date(second * MILLIS_PER_SECOND)));
    }

    static AsciiString now() {
        long second = System.currentTimeMillis() / MILLIS_PER_SECOND;
        HttpDate date = current;
        if (date.second != second) {
            date = new HttpDate(second);
            current = date;
        }
        return date.text;
    }
}
