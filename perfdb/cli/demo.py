"""``perfdb demo``: a generated history in a database of its own."""

from typing import Annotated

import typer

from perfdb.cli.options import JsonOption, PortOption, print_json

DATABASE = "perfdb_demo"


def demo(
    port: PortOption = None,
    dashboard: Annotated[bool, typer.Option("--dashboard/--no-dashboard", help="Show it afterwards.")] = True,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open it where there is a desktop.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Load a labelled history into a database of its own, so that every page shows what it is for.

    The history is made by a seeded generator: nothing in it was measured, and every page says so.

    Example: perfdb demo --port 8600
    """
    from perfdb.cli.children import stoppable
    from perfdb.cli.dashboard_process import Place, refuse_missing
    from perfdb.cli.serving import Manner, serve
    from perfdb.database import database_url
    from perfdb.demo import load_demo
    from perfdb.settings import load_settings
    from perfdb.store.engine import address, explained, open_engine, sibling_database
    from perfdb.store.migrations import migrate

    settings = load_settings()
    if dashboard:
        refuse_missing()
    with stoppable(), database_url(settings) as url:
        own = sibling_database(url, DATABASE)
        engine = open_engine(own)
        typer.echo("loading the generated history", err=True)
        with explained(address(own)):
            migrate(engine)
            new = load_demo(engine)
        engine.dispose()
        if dashboard:
            serve(settings.home, own, Manner(Place(port), browser, as_json, is_demo=True))
        elif as_json:
            print_json({"database": address(own), "new_runs": new})
        else:
            typer.echo(f"{new} generated runs loaded into {DATABASE}; look at them with: perfdb demo")
