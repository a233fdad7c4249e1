# Unsnarl and a JDK in one image:
#
#   docker build -t unsnarl .
#   docker run --rm -v "$PWD:/work" unsnarl check target/classes
FROM rust:1.95-slim-trixie AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jdk-headless \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo install --locked --path crates/cli --root /usr/local

FROM debian:trixie-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends default-jdk-headless \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /usr/local/bin/unsnarl /usr/local/bin/unsnarl
COPY --from=build /src/docs/man/ /usr/local/share/man/man1/
WORKDIR /work
ENTRYPOINT ["unsnarl"]
CMD ["--help"]
