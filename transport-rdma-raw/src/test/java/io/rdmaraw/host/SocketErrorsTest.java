package io.rdmaraw.host;

import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The error for an unknown device name suggests similar valid names. */
class SocketErrorsTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "soft:xdp:eth7    | eth7         | interface eth7 of soft:xdp:eth7 does not exist",
        "eth7             | eth7         | no device eth7, nor a network interface of that name",
        "xdp:eth0         | xdp:eth0     | is soft:xdp:eth0 meant?",
        "packet:eth0      | packet:eth0  | is soft:packet:eth0 meant?",
        "loop             | loop         | is soft:loop meant?",
    })
    void missingDeviceIsReportedWithSuggestion(String device, String link, String told) {
        String message = SocketErrors.noInterface(device, link).getMessage();
        assertTrue(message.contains(told), message);
    }
}
