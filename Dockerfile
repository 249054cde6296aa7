# The demo: docker build -t arm-control . && docker run --rm --init --network host arm-control
# The page listens on this machine only, so the container needs the machine's network.
FROM python:3.12-slim
COPY . /src
RUN pip install --no-cache-dir '/src[demo,bags]' && rm -rf /src && useradd --create-home arm
USER arm
ENTRYPOINT ["arm-control"]
CMD ["demo"]
