package io.rdmaraw.tools.doctor;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** Asks the program {@code ethtool}. */
final class Ethtool implements NetdevChecks.Features {
    @Override
    public Optional<String> of(String netdev) {
        try {
            Process process = new ProcessBuilder("ethtool", "-k", netdev).redirectErrorStream(true).start();
            process.getOutputStream().close();
            return Optional.of(new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8));
        } catch (IOException notInstalled) {
            return Optional.empty();
        }
    }
}
