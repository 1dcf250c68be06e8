package io.rdmaraw.tools.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Runs the {@code ethtool} program. */
final class Ethtool implements NetdevChecks.Features {
    @Override
    public Optional<String> of(String netdev) {
        try {
            return Optional.of(output(netdev));
        } catch (IOException notInstalled) {
            return Optional.empty();
        }
    }

    private static String output(String netdev) throws IOException {
        Process process = new ProcessBuilder("ethtool", "-k", netdev).redirectErrorStream(true).start();
        process.getOutputStream().close();
        return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }
}
