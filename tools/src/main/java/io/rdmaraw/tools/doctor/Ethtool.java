package io.rdmaraw.tools.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Runs the {@code ethtool} program. Its output is empty if it is not installed. */
final class Ethtool implements NetdevChecks.Features {
    @Override
    public Optional<String> of(String netdev) {
        return output("-k", netdev);
    }

    /** Returns the counters of the driver: {@code ethtool -S}. */
    Optional<String> statistics(String netdev) {
        return output("-S", netdev);
    }

    private static Optional<String> output(String option, String netdev) {
        try {
            Process process = new ProcessBuilder("ethtool", option, netdev).redirectErrorStream(true).start();
            process.getOutputStream().close();
            return Optional.of(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException notInstalled) {
            return Optional.empty();
        }
    }
}
